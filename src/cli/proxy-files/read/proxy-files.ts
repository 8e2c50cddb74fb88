/** The files of a proxy with those that they include: on this machine, or in what `nginx -T` has printed. */
import { dirname, posix, resolve } from 'node:path';
import { ConfigError, type Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { displayName, isElsewhere, readText } from '../../../gateway/config/text-file.ts';
import { type FilePlace, lineText } from '../file-place.ts';
import { found } from './catalog.ts';
import { filesMatching, fitsPath, isPattern } from './file-pattern.ts';

export interface ProxyText {
  readonly name: string;
  readonly text: string;
}

export interface IncludedText extends ProxyText {
  /** An absolute path. */
  readonly path: string;
}

export interface ProxyFiles {
  readonly main: ProxyText;
  /** The paths of all files, the main one first, if `nginx -T` has printed them. */
  readonly dumped?: readonly string[];
  /** Returns sorted absolute paths. `folder` is by default that of the main file. */
  paths(named: string, folder?: string): readonly string[];
  /** Throws a ConfigError if the file cannot be read. */
  read(path: string): IncludedText;
  /** Such a text is not shown, because the author of the main file may not be allowed to read it. */
  isElsewhere(path: string): boolean;
}

/** Relative includes begin at `path`, unless the text is the output of `nginx -T`. */
export function filesOf(path: string, text: string, name = displayName(path)): ProxyFiles {
  return filesOfDump(text) ?? filesOnDisk(path, text, name);
}

/** Relative includes begin at `path`, even if the text came from elsewhere. */
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

const FILE_IN_DUMP = /^# configuration file (.+):$/gm;

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

/** Repeated includes of a file count each time. */
const MAX_INCLUDES = 4_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_DEPTH = 20;

export interface Include {
  readonly path: string;
  readonly folder?: string;
  readonly place: FilePlace;
  /** Paths of the files that include each other, down to this line. */
  readonly open: readonly string[];
}

export interface IncludeProblem {
  readonly path: string;
  readonly place: FilePlace;
  readonly problem: string;
  /** False if includes are refused, because they have no end or are too many. */
  readonly isUnreadable: boolean;
}

export function includeBudget(files: ProxyFiles) {
  const problems = new Map<string, IncludeProblem>();
  let includes = 0;
  let characters = 0;
  let isSpent = false;
  /** A file may be included in many places, so each problem of a line is kept once. */
  const refuse = ({ path, place }: Include, problem: string, isUnreadable = false): [] => {
    problems.set(`${lineText(place)} ${problem}`, { path, place, problem, isUnreadable });
    return [];
  };
  const readFile = (path: string, include: Include): readonly IncludedText[] => {
    if (isSpent) return [];
    try {
      const file = files.read(path);
      if (include.open.includes(path)) {
        const how = 'includes itself, directly or through other files: remove this line';
        return refuse(include, `${file.name} ${how}`);
      }
      includes++;
      characters += file.text.length;
      isSpent = includes > MAX_INCLUDES || characters > MAX_CHARACTERS;
      if (!isSpent) return [file];
      const bounds = `${MAX_INCLUDES} files are included, or ${MAX_CHARACTERS} characters`;
      return refuse(include, `${include.path} and the rest are not read: more than ${bounds}`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return refuse(include, error.mistakes.join('; '), true);
    }
  };
  return {
    problems: () => [...problems.values()],
    /** Leaves out files that cannot be read. */
    read(include: Include): readonly IncludedText[] {
      const { path, folder, open } = include;
      if (path === '' || isSpent) return [];
      if (open.length >= MAX_DEPTH)
        return refuse(include, `${path} is not read: includes are nested deeper than ${MAX_DEPTH}`);
      return files.paths(path, folder).flatMap((each) => readFile(each, include));
    },
  };
}

export function includeFindings(problems: readonly IncludeProblem[]): Diagnostic[] {
  return problems.map(({ place, problem }) =>
    found('unreadable-include', lineText(place), problem),
  );
}
