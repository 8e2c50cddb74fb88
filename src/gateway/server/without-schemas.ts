/** No route of our servers has a schema: the operations check their input themselves. */

/** Options of Fastify. Without them it loads its compilers of schemas, which are over a hundred files. */
export const WITHOUT_SCHEMAS = {
  schemaController: {
    compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema },
  },
} as const;

function refuseSchema(): never {
  throw new Error('a route has a schema');
}
