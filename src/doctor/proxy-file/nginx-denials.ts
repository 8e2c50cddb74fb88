/** Finds what keeps the answers of headgate, or the site's own 401 and 403, from the client. */
import { type DoctorFinding, found } from '../catalog.ts';
import { inherited, isChecked, type Level, nearest } from './nginx-levels.ts';
import { type Directive, everyDirective } from './nginx-tree.ts';

/** What clients get instead, by the status that `auth_request` knows. */
const LOST: Readonly<Record<string, string>> = {
  403: "headgate's answer to a denial",
  401: 'the 503 for requests that are refused while no gateway answers',
};

export function nginxDenials(levels: readonly Level[]): DoctorFinding[] {
  return levels
    .filter(isChecked)
    .flatMap((level) => [...takenStatuses(level), ...replacedRefusals(level)]);
}

/** `401 403` of `error_page 401 403 =404 /page`. */
export function statusesOf(args: readonly string[]): readonly string[] {
  return args.slice(0, -1).filter((each) => /^\d+$/.test(each));
}

/** NGINX uses the first line for a status. */
function takenStatuses({ at }: Level): DoctorFinding[] {
  const lines = at.block.filter(({ name }) => name === 'error_page');
  if (!lines.some(leadsToHeadgate)) return [];
  const taken = new Map<Directive, string[]>();
  for (const status of Object.keys(LOST)) {
    const [first] = lines.filter(({ args }) => statusesOf(args).includes(status));
    if (first !== undefined && !leadsToHeadgate(first))
      taken.set(first, [...(taken.get(first) ?? []), status]);
  }
  return [...taken].map(([{ args, place }, statuses]) => {
    const lost = statuses.map((status) => LOST[status]).join(', and ');
    const problem = `error_page ${statusesOf(args).join(' ')} stands before the lines of headgate, so clients get ${args.at(-1)} in place of ${lost}`;
    return found('denial-becomes-page', place, problem);
  });
}

function leadsToHeadgate({ args }: Directive): boolean {
  return args.at(-1)?.startsWith('@headgate_') === true;
}

/** Parts that were printed before headgate told the two apart. */
function replacedRefusals(level: Level): DoctorFinding[] {
  const { at, around } = level;
  const levels = [at, ...around];
  const server = levels.find(({ name }) => name === 'server');
  if (server === undefined || !PASSING.has(at.name) || !isOldPart(server)) return [];
  const causes = [...ownRefusals(level), ...interceptions(level)];
  if (causes.length === 0) return [];
  const named = causes.map(({ name, args, place }) => `${[name, ...args].join(' ')} (${place})`);
  const problem = `the part of an older headgate turns the site's own 401 into a 503, and empties its 403: ${named.join(', ')}`;
  return [found('own-refusal-replaced', at.place, problem)];
}

const PASSING: ReadonlySet<string> = new Set(['location', 'if', 'limit_except']);

function isOldPart({ block }: Directive): boolean {
  const refused = block.find(({ args }) => args[0] === '@headgate_refused');
  return refused !== undefined && !everyDirective(refused.block).some(({ name }) => name === 'if');
}

/** Lines by which NGINX itself answers 401 or 403. */
function ownRefusals({ at, around }: Level): readonly Directive[] {
  const levels = [at, ...around];
  const asking = ['auth_basic', 'auth_jwt'].filter(
    (name) => (inherited(name, levels) ?? 'off') !== 'off',
  );
  const returned = at.block.filter(
    ({ name, args }) => name === 'return' && /^40[13]$/.test(args[0] ?? ''),
  );
  return [...[...asking, 'deny'].flatMap((name) => nearest(name, levels).slice(0, 1)), ...returned];
}

const PASS = /^(proxy|fastcgi|uwsgi|scgi|grpc)_pass$/;

/** Lines by which the answers of the application take part in `error_page`. */
export function interceptions({ at, around }: Level): readonly Directive[] {
  return at.block.flatMap(({ name }) => {
    const kind = PASS.exec(name)?.[1];
    const [line] = nearest(`${kind}_intercept_errors`, [at, ...around]);
    return kind !== undefined && line?.args[0] === 'on' ? [line] : [];
  });
}
