/** The command line. bin/headgate.cjs loads this where the running Node can. */
import { run } from './cli/program.ts';

await run(process.argv);
