export type Given = Readonly<Record<string, string | undefined>>;

export interface Mapped {
  readonly settings?: Readonly<Record<string, string>>;
  readonly notes?: readonly string[];
  /** Each begins with the name of a variable, and ends with a remedy. */
  readonly mistakes?: readonly string[];
}

/** The mistake of a variable that `read` refuses with a RangeError. */
export function mistakeOf(name: string, read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [`${name}: ${(error as RangeError).message}`];
  }
}

export function textsThatHold(conditions: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(conditions).filter((text) => conditions[text]);
}

/** Go reads these as booleans (strconv.ParseBool). Other texts are mistakes, see `formMistakes`. */
const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

export function isTrue(text: string | undefined): boolean {
  return TRUE.includes(text ?? '');
}

/** Those that become settings. */
const BOOLEANS = [
  'CONFIG_GRPC_XDS_SERVER_USE_TLS',
  'DISABLE_STATS',
  'FORCE_START_WITHOUT_INITIAL_CONFIG',
  'GRPC_SERVER_USE_TLS',
  'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED',
  'LIMIT_RESPONSE_HEADERS_ENABLED',
  'MERGE_DOMAIN_CONFIG',
  'QUOTA_MODE',
  'REDIS_TLS',
  'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION',
  'RESPONSE_DYNAMIC_METADATA',
  'SHADOW_MODE',
  'USE_PROMETHEUS',
];
const PORTS = ['PORT', 'GRPC_PORT', 'DEBUG_PORT'];
const LARGEST_PORT = 65_535;

/** A switch that is misspelled would be off, as that of TLS. */
export function formMistakes(given: Given): string[] {
  const isBoolean = (text: string) => text === '' || TRUE.includes(text) || FALSE.includes(text);
  const isPort = (text: string) =>
    text === '' || (/^\d{1,5}$/.test(text) && Number(text) <= LARGEST_PORT);
  const wrong = (names: readonly string[], isRight: (text: string) => boolean) =>
    names.filter((name) => !isRight(given[name] ?? ''));
  const not = (name: string) => `not ${JSON.stringify(given[name])}`;
  return [
    ...wrong(BOOLEANS, isBoolean).map((name) => `${name}: must be true or false, ${not(name)}`),
    ...wrong(PORTS, isPort).map((name) => `${name}: must be a port from 0 to 65535, ${not(name)}`),
  ];
}
