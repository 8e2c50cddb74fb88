#!/bin/sh
# NGINX for an ordinary user. Debian's writes to folders of root before it reads its configuration, so it gets others in
# their place, in a mount namespace. It sees itself as user 1000 there: as root it would change to a user of its own.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec unshare --map-root-user --mount sh -c '
  for folder in /var/lib/nginx /var/log/nginx; do
    [ -w "$folder" ] || mount -t tmpfs tmpfs "$folder"
  done
  exec unshare --map-user=1000 --map-group=1000 nginx "$@"' sh "$@"
