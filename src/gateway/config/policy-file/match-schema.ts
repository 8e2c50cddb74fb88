/** Schema of `match`: which requests a policy applies to. */
import { z } from 'zod';
import { holds } from '../refinement.ts';
import { checkHostTemplate, HOST_PATTERN } from './host-template.ts';
import { checkMethodName, METHOD_PATTERN } from './method-name.ts';
import { checkPathTemplate } from './path-template.ts';

const method = z
  .string()
  .meta({ title: 'upper-case method', pattern: METHOD_PATTERN.source, examples: ['POST'] })
  .transform(holds(checkMethodName));

const host = z
  .string()
  .meta({
    title: 'lower-case host',
    pattern: HOST_PATTERN.source,
    examples: ['api.example.com', '*.example.com'],
  })
  .transform(holds(checkHostTemplate));

const path = z
  .string()
  .meta({ title: 'path', examples: ['/api/auth/login', '/users/:id', '/static/*'] })
  .transform(holds(checkPathTemplate));

export const matchSchema = z
  .strictObject({
    method: z
      .union([method, z.array(method).min(1)], 'must be a method such as POST, or a list of them')
      .optional()
      .describe('A method, or a list of methods.'),
    host: host.optional().describe('The host, without a port.'),
    path: path.optional().describe('A path. A segment may be ":name", and the last one "*".'),
  })
  .refine((value) => Object.keys(value).length > 0, 'must name a method, a host or a path');
