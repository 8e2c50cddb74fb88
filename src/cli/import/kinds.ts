/** The rate limiters whose configurations can be imported. Apart from the converters, so that help loads none of them. */
export const IMPORT_KINDS = ['nginx', 'ingress-nginx', 'traefik', 'kong'] as const;

export type ImportKind = (typeof IMPORT_KINDS)[number];
