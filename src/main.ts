/** The entry point of the command. bin/headgate.cjs loads it if the running Node can run it. */
import { run } from './cli/program.ts';

/** How long a gateway that did not start may take to close what it has opened. */
const END_WITHIN_MS = 800;
const [word = 'serve'] = process.argv.slice(2);
const runsGateway = word.startsWith('-') || word === 'serve' || word === 'ratelimit';

await run(process.argv);
// Something may hang, such as a standard error that nobody reads. Other commands wait until their output is read.
if (runsGateway && process.exitCode) setTimeout(() => process.exit(), END_WITHIN_MS).unref();
