/** The entry point of the command. bin/headgate.cjs loads it if the running Node can run it. */
import { run } from './cli/program.ts';

await run(process.argv);
