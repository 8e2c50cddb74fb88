/** YAML 1.1 in Go reads `yes` as true, and 010 as 8. Whether a word is a number at all depends on the key (yaml-value.ts). */
import type { ScalarTag, Tags } from 'yaml';

/** Whole numbers: decimal, binary, octal and hexadecimal, with underscores anywhere but first. */
const INTEGER = /^[-+]?(?:0[bB][01_]+|0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[0-7_]*|[1-9][\d_]*)$/;

const boolean: ScalarTag = {
  identify: (value) => typeof value === 'boolean',
  default: true,
  tag: 'tag:yaml.org,2002:bool',
  test: /^(?:[yYnN]|[yY]es|YES|[tT]rue|TRUE|[oO]n|ON|[nN]o|NO|[fF]alse|FALSE|[oO]ff|OFF)$/,
  resolve: (text) => /^(?:y|t|on)/i.test(text),
};

const integer: ScalarTag = {
  identify: (value) => typeof value === 'number',
  default: true,
  tag: 'tag:yaml.org,2002:int',
  test: INTEGER,
  resolve: (text) => {
    const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
    const size = /^0\d/.test(digits) ? Number.parseInt(digits, 8) : Number(digits);
    return text.startsWith('-') ? -size : size;
  },
};

/** Replaces the tags of YAML 1.2 for the same types. */
export function withScalars(tags: Tags): Tags {
  const others = tags.filter((tag) => {
    const name = typeof tag === 'string' ? tag : tag.tag;
    return name !== boolean.tag && name !== integer.tag;
  });
  return [boolean, integer, ...others];
}

export function isFraction(value: unknown, source: string | undefined): boolean {
  return typeof value === 'number' && source !== undefined && !INTEGER.test(source);
}
