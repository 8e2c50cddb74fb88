/**
 * Resolves the dot segments of a decoded path, as different servers do. The segments are found once for all servers, and
 * only kept segments are copied, because a hostile path has many segments and many readings.
 */

/** A path with more segments is refused, see path.ts. */
const MAX_SEGMENTS = 64;

/** Where each segment starts, and where its name and the segment end. Shared, because one path is read at a time. */
const starts = new Uint16Array(MAX_SEGMENTS + 1);
const nameEnds = new Uint16Array(MAX_SEGMENTS + 1);
const ends = new Uint16Array(MAX_SEGMENTS + 1);
const kept = new Uint8Array(MAX_SEGMENTS + 1);

interface Rules {
  /** A `..` can remove an empty segment. */
  readonly emptyIsSegment: boolean;
  /** `..;x` is an ordinary name, for servers that do not know parameters. */
  readonly parametersAreNames: boolean;
}

/** The path as each kind of server resolves it, the likeliest first. `path` starts with a slash. */
export function resolutions(path: string): string[] {
  const count = findSegments(path);
  const lenient = resolve(path, count, { emptyIsSegment: false, parametersAreNames: false });
  if (!path.includes('..')) return [lenient];
  const others = [resolve(path, count, { emptyIsSegment: true, parametersAreNames: false })];
  if (path.includes(';')) {
    others.push(resolve(path, count, { emptyIsSegment: false, parametersAreNames: true }));
    others.push(resolve(path, count, { emptyIsSegment: true, parametersAreNames: true }));
  }
  return [lenient, ...others];
}

export function hasTooManySegments(path: string): boolean {
  let segments = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    if (++segments > MAX_SEGMENTS) return true;
  }
  return false;
}

/** Returns the number of segments. A name ends where the `;parameters` of its segment start. */
function findSegments(path: string): number {
  let count = 0;
  let parameters = path.indexOf(';');
  for (let start = 1; start <= path.length; count++) {
    const slash = path.indexOf('/', start);
    const end = slash === -1 ? path.length : slash;
    if (parameters !== -1 && parameters < start) parameters = path.indexOf(';', start);
    starts[count] = start;
    ends[count] = end;
    nameEnds[count] = parameters !== -1 && parameters < end ? parameters : end;
    start = end + 1;
  }
  return count;
}

/** Drops empty segments, `.`, `;parameters`, and each `..` with the segment before it. */
function resolve(path: string, count: number, rules: Rules): string {
  let size = 0;
  for (let i = 0; i < count; i++) {
    const start = starts[i] as number;
    const length = ((rules.parametersAreNames ? ends[i] : nameEnds[i]) as number) - start;
    if (length === 2 && path.startsWith('..', start)) size = Math.max(0, size - 1);
    else if (length === 1 && path.startsWith('.', start)) continue;
    else if (length > 0 || rules.emptyIsSegment) kept[size++] = i;
  }
  let resolved = '';
  for (let k = 0; k < size; k++) {
    const i = kept[k] as number;
    const [start, end] = [starts[i] as number, nameEnds[i] as number];
    if (end > start) resolved += `/${path.slice(start, end)}`;
  }
  return resolved || '/';
}
