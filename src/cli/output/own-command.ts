/** The command that runs this headgate, so that printed commands can be copied. */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../../bin/headgate.cjs', import.meta.url));
/** The sources run as they are; the package has JavaScript. */
const IS_CLONE = import.meta.url.endsWith('.ts');

/** A clone has no command on the PATH, so it is the path of its bin. */
export function ownCommand(): string {
  if (!IS_CLONE) return /[\\/]_npx[\\/]/.test(BIN) ? 'npx headgate' : 'headgate';
  const path = relative(process.cwd(), BIN);
  return path.startsWith('..') ? BIN : path;
}
