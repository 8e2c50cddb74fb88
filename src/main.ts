/** The entry point of the command. bin/headgate.cjs loads it if the running Node can run it. */
import { setFlagsFromString } from 'node:v8';

/** How long a gateway that did not start may take to close what it has opened. */
const END_WITHIN_MS = 800;
const [word = 'serve'] = process.argv.slice(2);
const runsGateway = word.startsWith('-') || word === 'serve' || word === 'ratelimit';

// V8 allocates objects in the old generation if earlier ones from the same place in the code lived long. A burst of slow
// requests can set that off for good, and the gateway then collects the old generation again and again. Code that is
// loaded before the flag is set keeps its allocation sites.
if (runsGateway) setFlagsFromString('--no-allocation-site-pretenuring');
const { run } = await import('./cli/program.ts');

await run(process.argv);
// Something may hang, such as a standard error that nobody reads. Other commands wait until their output is read.
if (runsGateway && process.exitCode) setTimeout(() => process.exit(), END_WITHIN_MS).unref();
