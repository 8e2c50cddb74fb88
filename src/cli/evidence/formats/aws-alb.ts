/** AWS: Application Load Balancer. */
import type { LogFormat } from './log-format.ts';
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
