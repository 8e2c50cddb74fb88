/** Settings of TLS on the gRPC port. */
import { z } from 'zod';
import { pathSetting, type ReadSetting, setting } from './setting.ts';

/** Paths of files. */
export interface GrpcTls {
  readonly certificate: string;
  readonly key: string;
  /** Callers need a certificate of these authorities; undefined: they need none. */
  readonly clientCa: string | undefined;
  /** The name that the certificate of a caller must have; undefined: any. */
  readonly clientName: string | undefined;
}

function path(name: string, meaning: string, fallbackWords = 'none') {
  return pathSetting({ name, meaning, fallbackWords, topic: 'places' });
}

export const GRPC_TLS_SETTINGS = {
  grpcCertificate: path(
    'HEADGATE_GRPC_TLS_CERT',
    'File with the certificate of the gRPC port. headgate reads it again when it changes.',
    'none: no TLS',
  ),
  grpcKey: path('HEADGATE_GRPC_TLS_KEY', 'File with the key of that certificate.'),
  grpcClientCa: path(
    'HEADGATE_GRPC_TLS_CLIENT_CA',
    'File with the certificates of authorities. Callers of the gRPC port need a certificate of one of them.',
    'none: callers need no certificate',
  ),
  grpcClientName: setting({
    name: 'HEADGATE_GRPC_TLS_CLIENT_NAME',
    topic: 'places',
    meaning: 'The name that the certificates of callers must have.',
    expected: 'a name',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: 'any',
  }),
};

/** Undefined: no TLS. */
export function readGrpcTls(read: ReadSetting): GrpcTls | undefined {
  const certificate = read(GRPC_TLS_SETTINGS.grpcCertificate);
  const key = read(GRPC_TLS_SETTINGS.grpcKey);
  const clientCa = read(GRPC_TLS_SETTINGS.grpcClientCa);
  const clientName = read(GRPC_TLS_SETTINGS.grpcClientName);
  if (certificate === undefined || key === undefined) return undefined;
  return { certificate, key, clientCa, clientName };
}

/** Half of a set-up would leave the port open without TLS, or let nobody in. */
export function grpcTlsMistakes(variables: NodeJS.ProcessEnv): string[] {
  const { HEADGATE_GRPC_TLS_CERT: certificate, HEADGATE_GRPC_TLS_KEY: key } = variables;
  const { HEADGATE_GRPC_TLS_CLIENT_CA: ca, HEADGATE_GRPC_TLS_CLIENT_NAME: name } = variables;
  const isAsked = [certificate, key, ca, name].some(Boolean);
  const missing = certificate ? 'HEADGATE_GRPC_TLS_KEY' : 'HEADGATE_GRPC_TLS_CERT';
  return [
    ...(isAsked && !(certificate && key)
      ? [`${missing}: is not set; TLS on the gRPC port needs a certificate and its key`]
      : []),
    ...(name && !ca
      ? [
          'HEADGATE_GRPC_TLS_CLIENT_CA: is not set; HEADGATE_GRPC_TLS_CLIENT_NAME needs the authorities of the callers',
        ]
      : []),
  ];
}
