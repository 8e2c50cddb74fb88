/** The formats of access logs. Where two have the same text, the first is taken. */
import { hint } from '../../config/closest-word.ts';
import { ConfigError } from '../../config/config-error.ts';
import { apacheCombined } from './apache-combined.ts';
import type { LogFormat } from './log-format.ts';
import { nginxCombined } from './nginx-combined.ts';

export const FORMATS: readonly LogFormat[] = [nginxCombined, apacheCombined];

/** By its name, or of an NGINX log_format string. Throws a ConfigError. */
export function formatNamed(name: string): LogFormat {
  const found = FORMATS.find((format) => format.name === name);
  if (found !== undefined) return found;
  const names = FORMATS.map((format) => format.name);
  throw new ConfigError([
    `--format: "${name}" is no format${hint(name, names)}; it is auto, an NGINX log_format string, or one of ${names.join(', ')}`,
  ]);
}
