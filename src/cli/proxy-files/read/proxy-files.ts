/** The files of a proxy: on this machine, or in what `nginx -T` has printed. */
import { dirname, posix, resolve } from 'node:path';
import { filesMatching, fitsPath, isPattern } from '../../../gateway/config/file-pattern.ts';
import { displayName, isElsewhere, readText } from '../../../gateway/config/text-file.ts';

export interface ProxyText {
  /** The name that is shown to people. */
  readonly name: string;
  readonly text: string;
}

export interface IncludedText extends ProxyText {
  /** Absolute. */
  readonly path: string;
}

export interface ProxyFiles {
  readonly main: ProxyText;
  /** The paths of all files, the main one first, if `nginx -T` has printed them. */
  readonly dumped?: readonly string[];
  /** The absolute paths that an include names, sorted. Default of `folder`: that of the main file. */
  paths(named: string, folder?: string): readonly string[];
  /** Throws a ConfigError if the file cannot be read. */
  read(path: string): IncludedText;
  /** Whether the text of the file must not be shown, since the author of the main file may not be allowed to read it. */
  isElsewhere(path: string): boolean;
}

/** `path`: where relative includes begin, unless the text is the output of `nginx -T`. */
export function filesOf(path: string, text: string, name = displayName(path)): ProxyFiles {
  return filesOfDump(text) ?? filesOnDisk(path, text, name);
}

/** `path` is where relative includes begin, even if the text came from elsewhere. */
export function filesOnDisk(path: string, text: string, name = displayName(path)): ProxyFiles {
  const home = dirname(resolve(path));
  return {
    main: { name, text },
    paths(named, folder = home) {
      const wanted = resolve(folder, named);
      return isPattern(named) ? filesMatching(wanted) : [wanted];
    },
    read: (each) => ({ path: each, name: displayName(each), text: readText(each) }),
    isElsewhere: (each) => isElsewhere(each, home),
  };
}

/** The line that `nginx -T` prints before each file. */
const FILE_IN_DUMP = /^# configuration file (.+):$/gm;

/** Undefined if the text is not the output of `nginx -T`. */
function filesOfDump(text: string): ProxyFiles | undefined {
  const starts = [...text.matchAll(FILE_IN_DUMP)];
  const files = new Map<string, string>();
  for (const [i, start] of starts.entries()) {
    const body = text.slice(start.index + start[0].length + 1, starts[i + 1]?.index);
    files.set(start[1] ?? '', files.get(start[1] ?? '') ?? body);
  }
  const [first] = files;
  if (first === undefined) return undefined;
  const [path, main] = first;
  return {
    main: { name: path, text: main },
    dumped: [...files.keys()],
    paths(named, folder = posix.dirname(path)) {
      const wanted = posix.resolve(folder, named);
      if (!isPattern(named)) return [wanted];
      return [...files.keys()].filter((each) => fitsPath(wanted, each)).sort();
    },
    // NGINX has read every file that it needs, so a missing one was empty or is not included.
    read: (each) => ({ path: each, name: each, text: files.get(each) ?? '' }),
    isElsewhere: () => false,
  };
}
