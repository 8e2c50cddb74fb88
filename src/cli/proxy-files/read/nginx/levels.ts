import { type Directive, named } from '../../nginx-syntax/directive.ts';

export const PASS = /^(proxy|fastcgi|uwsgi|scgi|grpc)_pass$/;

/** A block and the blocks around it, the nearest first, from which it inherits. */
export type Level = readonly [at: Directive, ...around: Directive[]];

export function levelsIn(level: Level): Level[] {
  return [level, ...innerLevels(level).flatMap(levelsIn)];
}

export function innerLevels(level: Level): Level[] {
  const [{ block }] = level;
  const inner = named(block, 'http', 'server', 'location', 'if', 'limit_except');
  return inner.map((each) => [each, ...level]);
}

export function serverLevels(http: Directive): Level[] {
  return innerLevels([http]).filter(([{ name }]) => name === 'server');
}

export function isCheck({ name, args: [uri = ''], isPart }: Directive): boolean {
  return name === 'auth_request' && (isPart || uri === '/_headgate');
}

export function isChecked(level: Level): boolean {
  return nearest('auth_request', level).some(isCheck);
}

/** `proxy_pass http://headgate/nginx` */
export function passesToHeadgate({ name, args: [url = ''] }: Directive): boolean {
  return name === 'proxy_pass' && /^https?:\/\/.*\/nginx\/?$/.test(url);
}

export function isForHeadgate({ block, args }: Directive): boolean {
  return (
    block.some(passesToHeadgate) || args.some((each) => /^@headgate_|^\/_headgate$/.test(each))
  );
}

/** Where a block passes requests on: the values of `proxy_pass` and its like. */
export function passesOf({ block }: Directive): string[] {
  return block.filter(({ name }) => PASS.test(name)).flatMap(({ args }) => args[0] ?? []);
}

/** NGINX inherits all lines of a directive, or none if the block has one itself. */
export function nearest(name: string, blocks: readonly Directive[]): readonly Directive[] {
  for (const { block } of blocks) {
    const lines = named(block, name);
    if (lines.length > 0) return lines;
  }
  return [];
}

export function inherited(name: string, blocks: readonly Directive[]): string | undefined {
  return nearest(name, blocks)[0]?.args[0];
}

export function isOn(name: string, blocks: readonly Directive[]): boolean {
  return (inherited(name, blocks) ?? 'off') !== 'off';
}

/** NGINX itself answers a request by these before it looks for files. */
const ANSWERING = ['deny', 'auth_basic', 'auth_jwt', 'limit_req', 'limit_conn'];

/** Requests get from here to a location with a name, unless headgate answers them. */
export function onlyLeadsOn(level: Level): boolean {
  const [tried] = named(level[0].block, 'try_files');
  const [first, second, ...others] = tried?.args ?? [];
  const leads =
    first === '/headgate-none' && second?.startsWith('@') === true && others.length === 0;
  return leads && !ANSWERING.some((name) => isOn(name, level));
}
