// What the page knows, in one object. It is replaced, never changed, and every listener is told which names changed.

export function createStore(initial) {
  let state = Object.freeze({ ...initial });
  const listeners = new Set();
  return {
    get state() {
      return state;
    },
    set(patch) {
      const changed = Object.keys(patch).filter((name) => !Object.is(patch[name], state[name]));
      if (!changed.length) return;
      state = Object.freeze({ ...state, ...patch });
      for (const listener of listeners) listener(changed);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Calls `draw(state, changes)` at most once per animation frame, with everything that changed since the last time. */
export function drawOnChange(store, draw, requestFrame = requestAnimationFrame) {
  let changes = null;
  store.subscribe((names) => {
    if (changes) {
      for (const name of names) changes.add(name);
      return;
    }
    changes = new Set(names);
    requestFrame(() => {
      const now = changes;
      changes = null;
      draw(store.state, now);
    });
  });
}
