/** Reminds operators that no limits are in force, because the control plane has not sent any yet. */

/** Longer than a start takes with a control plane that has limits. */
const FIRST_AFTER_MS = 3_000;
const AGAIN_AFTER_MS = 60_000;

export interface Reminder {
  close(): void;
}

/** Reminds until there are limits: they stay in force from then on. */
export function remindOfMissingLimits(hasLimits: () => boolean, remind: () => void): Reminder {
  let timer: NodeJS.Timeout;
  const remindAfter = (delayMs: number) => {
    timer = setTimeout(() => {
      if (hasLimits()) return;
      remind();
      remindAfter(AGAIN_AFTER_MS);
    }, delayMs).unref();
  };
  remindAfter(FIRST_AFTER_MS);
  return { close: () => clearTimeout(timer) };
}
