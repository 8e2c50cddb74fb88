/** The blocks of an NGINX configuration, each with the blocks around it, from which it inherits. */
import type { Directive } from '../../nginx-syntax/directive.ts';

const LEVELS: ReadonlySet<string> = new Set(['http', 'server', 'location', 'if', 'limit_except']);

/** Lines that pass requests on to an application. */
export const PASS = /^(proxy|fastcgi|uwsgi|scgi|grpc)_pass$/;

/** A block and the blocks around it, the nearest first. */
export interface Level {
  readonly at: Directive;
  readonly around: readonly Directive[];
}

/** The block itself first. */
export function levelsIn(at: Directive, around: readonly Directive[]): Level[] {
  return [
    { at, around },
    ...innerLevels({ at, around }).flatMap((each) => levelsIn(each.at, each.around)),
  ];
}

/** The blocks directly in this one. */
export function innerLevels({ at, around }: Level): Level[] {
  return at.block
    .filter(({ name }) => LEVELS.has(name))
    .map((inner) => ({ at: inner, around: [at, ...around] }));
}

/** Whether the line is the check of headgate. */
export function asks({ name, args: [uri = ''], isPart }: Directive): boolean {
  return name === 'auth_request' && (isPart || uri === '/_headgate');
}

/** Whether requests of this block are checked, also by a line that it inherits. */
export function isChecked({ at, around }: Level): boolean {
  return nearest('auth_request', [at, ...around]).some(asks);
}

/** `proxy_pass http://headgate/nginx` */
export function asksHeadgate({ name, args: [url = ''] }: Directive): boolean {
  return name === 'proxy_pass' && /^https?:\/\/.*\/nginx\/?$/.test(url);
}

/** Whether headgate itself needs the block, for its checks or its answers. */
export function isForHeadgate({ block, args }: Directive): boolean {
  return block.some(asksHeadgate) || args.some((each) => /^@headgate_|^\/_headgate$/.test(each));
}

/** The lines that the nearest block has. */
export function nearest(name: string, blocks: readonly Directive[]): readonly Directive[] {
  for (const { block } of blocks) {
    const lines = block.filter((each) => each.name === name);
    if (lines.length > 0) return lines;
  }
  return [];
}

/** The first value of the nearest line. */
export function inherited(name: string, blocks: readonly Directive[]): string | undefined {
  return nearest(name, blocks)[0]?.args[0];
}

/** Lines by which NGINX itself answers a request before it looks for files. */
const ANSWERING = ['deny', 'auth_basic', 'auth_jwt', 'limit_req', 'limit_conn'];

/** Whether requests get from here to a location with a name before anything but headgate answers them. */
export function onlyLeadsOn({ at, around }: Level): boolean {
  const tried = at.block.find(({ name }) => name === 'try_files')?.args ?? [];
  const leads = tried.length === 2 && tried[0] === '/headgate-none' && tried[1]?.startsWith('@');
  const levels = [at, ...around];
  return leads === true && ANSWERING.every((name) => (inherited(name, levels) ?? 'off') === 'off');
}
