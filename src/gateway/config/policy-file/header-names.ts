import { z } from 'zod';
import { holds } from '../refinement.ts';

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be a header name of letters, digits and "-"')
  .meta({ title: 'header name' })
  .transform((name) => name.toLowerCase());

/** Headers that every client sends, that frame a message, or that say where a request comes from. */
const RESERVED_HEADER =
  /^(user-agent|host|cookie|connection|content-length|transfer-encoding|forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-headgate-.*)$/;

/** A header that can identify a client. */
export const credentialHeader = headerName.transform(
  holds((name: string) => {
    if (!RESERVED_HEADER.test(name)) return name;
    throw new RangeError(`"${name}" has another meaning and cannot identify a client`);
  }),
);
