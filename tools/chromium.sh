#!/bin/sh
# Make sure that there is a Chromium: Debian's, if there is none yet.
set -eu
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
as_root=
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
fi
if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
    echo "make: no Chromium here, and none can be installed: put 'chromium' on the PATH, then run this again." >&2
    exit 1
fi
echo "Installing Debian's Chromium ..."
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
