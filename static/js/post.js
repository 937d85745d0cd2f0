// POST with the token against forged requests. Refusals arrive as {error: {sentence, place, mend}}.

/** The answer as an object; throws what the server said went wrong, with `sentence`, `place` and `mend` if it has them. */
export async function post(url, body, token) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify(body),
  });
  const result = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(`HTTP ${answer.status}`), result.error);
  return result;
}
