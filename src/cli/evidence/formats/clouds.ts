/** Load balancers of AWS, Cloudflare and Google Cloud. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';
import { textFormat } from './parts/text-format.ts';

export const awsAlb: LogFormat = textFormat({
  name: 'aws-alb',
  title: 'AWS Application Load Balancer',
  layouts: [
    // What AWS appends over time is in `rest`.
    '$type $response_time $elb $remote_addr_port $target_addr $request_processing_time $target_processing_time $response_processing_time $status $target_status $received_bytes $sent_bytes "$request" "$http_user_agent" $ssl_cipher $ssl_protocol $target_group_arn "$trace_id" "$domain_name" "$certificate_arn" $rule_priority $time_iso8601 $rest',
  ],
  escapes: 'backslash',
  stampIs: 'start',
  precisionMs: 0.001,
  address: '`client:port`: the address that connected to the load balancer',
  samples: [
    'https 2026-01-05T10:20:30.135000Z app/shop/50dc6c495c0c9188 203.0.113.9:51234 10.0.0.5:8080 0.000 0.011 0.000 200 200 120 512 "GET https://shop.example:443/search?q=1 HTTP/2.0" "curl/8.5.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/shop/73e2d6bc24d8a067 "Root=1-695b8f2e-3a5d7c9b1f2e4d6c8a0b1c2d" "shop.example" "arn:aws:acm:eu-central-1:123456789012:certificate/12345678" 0 2026-01-05T10:20:30.123000Z "forward" "-" "-" "10.0.0.5:8080" "200" "-" "-" TID_0123456789abcdef',
  ],
  notes: [
    'The time is `request_creation_time`, when the load balancer received the request.',
    'A target is logged as a whole URL: headgate takes the path and the query from it, and the host without port 80 or 443.',
    'A bucket has one file for every node and five minutes: name them all.',
  ],
});

export const cloudflareLogpush: LogFormat = jsonFormat({
  name: 'cloudflare-logpush',
  title: 'Cloudflare Logpush',
  keys: {
    time_any: ['EdgeStartTimestamp'],
    request_method: ['ClientRequestMethod'],
    request_uri: ['ClientRequestURI'],
    uri: ['ClientRequestPath'],
    host: ['ClientRequestHost'],
    remote_addr: ['ClientIP'],
    http_x_forwarded_for: ['ClientXForwardedFor'],
    status: ['EdgeResponseStatus'],
    http_user_agent: ['ClientRequestUserAgent'],
  },
  marks: ['ClientRequestMethod', 'EdgeStartTimestamp'],
  stampIs: 'start',
  precisionMs: 0.001,
  address: '`ClientIP`: the address that connected to Cloudflare',
  samples: [
    '{"ClientIP":"203.0.113.9","ClientRequestHost":"shop.example","ClientRequestMethod":"GET","ClientRequestURI":"/search?q=1","EdgeEndTimestamp":"2026-01-05T10:20:30.135Z","EdgeResponseBytes":512,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2026-01-05T10:20:30.123Z","RayID":"3a6050bcbe121a87"}',
    '{"ClientIP":"203.0.113.9","ClientRequestHost":"shop.example","ClientRequestMethod":"POST","ClientRequestURI":"/login","ClientRequestUserAgent":"curl/8.5.0","EdgeResponseStatus":429,"EdgeStartTimestamp":1767608430123000000}',
  ],
  notes: [
    'Stamps may be nanoseconds, seconds or RFC 3339, as the job says. Lines come in no order.',
    'The log has what Cloudflare answered itself, from its cache for example: your proxy never saw those requests.',
  ],
});

export const gcpLoadBalancer: LogFormat = jsonFormat({
  name: 'gcp-load-balancer',
  title: 'Google Cloud Load Balancer',
  keys: {
    time_iso8601: ['timestamp'],
    request_time: ['httpRequest.latency'],
    request_method: ['httpRequest.requestMethod'],
    request_uri: ['httpRequest.requestUrl'],
    remote_addr: ['httpRequest.remoteIp'],
    status: ['httpRequest.status'],
    http_user_agent: ['httpRequest.userAgent'],
  },
  marks: ['timestamp', 'httpRequest.requestUrl'],
  stampIs: 'start',
  precisionMs: 0.001,
  address: '`httpRequest.remoteIp`: the address that connected to the load balancer',
  samples: [
    '{"httpRequest":{"latency":"0.012300s","remoteIp":"203.0.113.9","requestMethod":"GET","requestSize":"120","requestUrl":"https://shop.example/search?q=1","responseSize":"512","serverIp":"10.0.0.5","status":200,"userAgent":"curl/8.5.0"},"insertId":"1abcdef2ghijk","jsonPayload":{"@type":"type.googleapis.com/google.cloud.loadbalancing.type.LoadBalancerLogEntry","statusDetails":"response_sent_by_backend"},"resource":{"type":"http_load_balancer"},"severity":"INFO","timestamp":"2026-01-05T10:20:30.123456Z"}',
  ],
  notes: [
    'The log is a sample if the backend service has a sample rate below 1: rates in it are then too low.',
    'The time is taken for the start of the request. If it is the end in your log, `--time-is end` subtracts the latency.',
    'One entry per line, as a sink writes them to Cloud Storage; not the list that the Logs Explorer downloads.',
  ],
});
