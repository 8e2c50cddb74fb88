/**
 * The terminal while `headgate top` runs: keys come one by one, and the screen is its own. Whatever ends the process, the
 * terminal is left as it was; only SIGKILL leaves no time for it.
 */
import { emitKeypressEvents } from 'node:readline';
import type { Screen } from '../output/output.ts';
import { reportFailure } from '../output/report-failure.ts';

export interface Key {
  /** `up`, `return`, `escape`, `ctrl-c`; of a character, the character. */
  readonly name: string;
  /** The character to write; empty if it is none. */
  readonly text: string;
}

interface Keypress {
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

const CONTROL = /^\p{Cc}/u;
const ESCAPE: Key = { name: 'escape', text: '' };
/** Besides characters, the keys that readline takes for one with Esc if they follow it at once. */
const AFTER_ESCAPE: readonly string[] = ['return', 'enter', 'tab', 'backspace', 'space'];

/** `char` is undefined for a key that writes nothing. */
export function keysOf(char: string | undefined, { name = '', ctrl, meta }: Keypress): Key[] {
  if (ctrl === true) return [{ name: `ctrl-${name}`, text: '' }];
  if (meta === true && (name.length === 1 || AFTER_ESCAPE.includes(name))) {
    return [ESCAPE, ...keysOf(name.length === 1 ? name : char, { name })];
  }
  if (name === 'enter') return [{ name: 'return', text: '' }];
  const isText = char !== undefined && char !== '' && !CONTROL.test(char);
  return [isText ? { name: char, text: char } : { name, text: '' }];
}

const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

export interface TerminalEvents {
  readonly onKey: (key: Key) => void;
  /** The terminal is ours again, and empty. */
  readonly onContinued: () => void;
}

export function takeTerminal(screen: Screen, { onKey, onContinued }: TerminalEvents) {
  const { stdin } = process;
  let isTaken = false;
  const take = () => {
    if (isTaken) return;
    isTaken = true;
    stdin.setRawMode(true);
    screen.open();
  };
  const giveBack = () => {
    if (!isTaken) return;
    isTaken = false;
    screen.close();
    stdin.setRawMode(false);
  };

  const fail = (error: unknown) => {
    giveBack();
    process.exit(reportFailure(error));
  };
  // The signal itself ends the process, so that others see what ended it.
  const end = (signal: NodeJS.Signals) => {
    giveBack();
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  const goOn = () => {
    take();
    onContinued();
  };

  process.on('uncaughtException', fail);
  process.on('exit', giveBack);
  for (const signal of ENDING) process.on(signal, end);
  process.on('SIGCONT', goOn);
  emitKeypressEvents(stdin);
  stdin.on('keypress', (char: string | undefined, pressed: Keypress) => {
    for (const key of keysOf(char, pressed)) onKey(key);
  });
  stdin.on('end', () => process.exit());
  take();
  stdin.resume();

  return {
    /** Gives the terminal back until the process is continued. */
    suspend() {
      giveBack();
      process.kill(process.pid, 'SIGTSTP');
    },
    close: giveBack,
  };
}
