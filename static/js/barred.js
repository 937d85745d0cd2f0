// What the question of a page forbids: it is shown among what is not possible, with the reason. The server judges by the same rules.

const fits = (pattern, id) => Boolean(pattern) && new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`).test(id);

/** `actions` as the server sends them; `rules`: [{action, command, why}]. */
export function bar(actions, rules) {
  if (!rules?.length || !actions) return actions;
  const why = (action) => rules.find((rule) => fits(rule.action, action.id))?.why;
  const barred = actions.possible.filter(why);
  return {
    ...actions,
    possible: actions.possible.filter((action) => !why(action)),
    impossible: [...barred.map((action) => ({ ...action, default: false, reason: { code: "forbidden", sentence: why(action), about: null } })), ...actions.impossible],
    commands: actions.commands.map((command) => {
      const rule = rules.find((one) => one.command === command.kind);
      return rule ? { ...command, possible: false, reason: rule.why } : command;
    }),
  };
}
