/** The long form of what test/e2e/charging-afterwards.test.ts does with a hundred streams. */
import { printTable } from '../../../tools/table.ts';
import { type AbortedStream, abortStreams, wrongCharges } from '../../support/aborted-streams.ts';
import { ChargedApplication } from '../../support/charged-application.ts';
import { findProgram, type ProgramName } from '../../support/programs.ts';
import {
  type Behind,
  type RunningProxy,
  startCaddy,
  startEnvoyForModels,
  startHaproxy,
  startNginx,
} from '../../support/proxies.ts';
import { defineScenario } from '../scenario.ts';

type Start = (behind: Behind) => Promise<RunningProxy>;

/** Behind Envoy, its access log reports outcomes. Otherwise the application does. */
const PROXIES: readonly (readonly [ProgramName, Start])[] = [
  ['envoy', startEnvoyForModels],
  ['nginx', startNginx],
  ['caddy', startCaddy],
  ['haproxy', startHaproxy],
];

export const scenario = defineScenario({
  proves: 'no stream of a language model that a client aborts is charged less than it had produced',
  takes: '20 s',
  options: {
    streams: { default: 1_000, least: 1, help: 'aborted streams through each proxy' },
    seed: { default: 1, least: 0, help: 'of the random moments' },
  },
  async prove({ streams, seed }) {
    const wrong: string[] = [];
    const rows = [];
    for (const [program, start] of PROXIES) {
      if (findProgram(program) === undefined) {
        wrong.push(`${program} is not installed`);
        continue;
      }
      await using application = await ChargedApplication.start(start, program !== 'envoy');
      const aborted = await abortStreams(application, { streams, seed });
      rows.push({ proxy: program, ...figuresOf(aborted) });
      wrong.push(...wrongCharges(aborted).map((stream) => `${program}: ${stream}`));
    }
    printTable(rows);
    return wrong;
  },
});

function figuresOf(streams: readonly AbortedStream[]) {
  const beyond = streams.map(({ charged, produced }) => charged - produced).sort((a, b) => a - b);
  const text = (at: number) => String(beyond[at]);
  return {
    streams: String(streams.length),
    'cut in the model': String(streams.filter(({ isWhole }) => !isWhole).length),
    'charged as reported': String(streams.filter(({ charged, whole }) => charged === whole).length),
    'charged minus produced: least': text(0),
    median: text(Math.floor(beyond.length / 2)),
    most: text(beyond.length - 1),
  };
}
