# The services: configuration from etc/, then one process each.

make_directories() {
  mkdir -p "$ETC" "$LOG" "$RUN" "$LAB_STATE/tmp" "$LIB"/{keystone,glance/images,glance/staging,glance/tasks,nova/instances,neutron,cinder,octavia}
  chmod 700 "$LAB_STATE"
}

# write_config fills the @NAMES@ in etc/ with this lab's paths and ports; a line
# "@include FILE" is replaced by that file.
write_config() {
  local file name script=() url
  url=$(db_url '\1')
  url=${url//&/\\&} # which sed would take for what it matched
  for name in PORT_KEYSTONE PORT_NOVA PORT_METADATA PORT_PLACEMENT PORT_GLANCE PORT_NEUTRON PORT_CINDER PORT_OCTAVIA ETC LIB PASTE RUN; do
    script+=(-e "s|@$name@|${!name}|g")
  done
  for file in "$LAB_DIR"/etc/*.conf "$LAB_DIR"/etc/clouds.yaml; do
    sed -e "/^@include auth$/{r $LAB_DIR/etc/auth.inc
d}" "$file" | sed "${script[@]}" -e "s|@DB:\([a-z0-9_]*\)@|$url|" \
      >"$ETC/$(basename "$file")"
  done
  mv "$ETC/clouds.yaml" "$LAB_STATE/clouds.yaml"
  chmod 600 "$LAB_STATE/clouds.yaml"
}

# uwsgi NAME PORT THREADS: serve drivers/fairlead_lab/NAME_wsgi.py.
serve() {
  start "$1" uwsgi --plugin python3 --http-socket "127.0.0.1:$2" --module "fairlead_lab.$1_wsgi" \
    --enable-threads --threads "$3" --processes 1 --die-on-term --skip-atexit --skip-atexit-teardown \
    --lazy-apps --need-app --buffer-size 65535 --listen 100 --add-header "Connection: close" --disable-logging
}

# run NAME MODULE: run a service's own program, whose launcher is not installed.
run() {
  start "$1" /usr/bin/python3 -c "import sys; sys.argv[0]='$1'; from $2 import main; sys.exit(main())" \
    --config-file "$ETC/$1.conf"
}

# seed FILE ARGUMENT...: run a seeding script as the cloud's administrator.
seed() {
  local file=$1
  shift
  env PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore OS_CLIENT_CONFIG_FILE="$LAB_STATE/clouds.yaml" no_proxy='*' \
    /usr/bin/python3 "$LAB_DIR/seed/$file" "$@" || die "cannot seed the cloud ($file)"
}

# start_services starts all. The catalogue has to be there before Nova's
# computes look for Placement in it.
start_services() {
  local first=$1
  serve keystone "$PORT_KEYSTONE" 8
  serve placement "$PORT_PLACEMENT" 4
  run glance glance.cmd.api
  run neutron neutron.cmd.eventlet.server
  answers keystone "http://127.0.0.1:$PORT_KEYSTONE/v3"
  [ -z "$first" ] || seed catalogue.py "$PORT_BASE"
  serve octavia "$PORT_OCTAVIA" 4
  answers placement "http://127.0.0.1:$PORT_PLACEMENT/"
  run nova fairlead_lab.nova
  run cinder fairlead_lab.cinder
  answers glance "http://127.0.0.1:$PORT_GLANCE/versions"
  answers neutron "http://127.0.0.1:$PORT_NEUTRON/"
  answers nova "http://127.0.0.1:$PORT_NOVA/"
  answers cinder "http://127.0.0.1:$PORT_CINDER/"
  answers octavia "http://127.0.0.1:$PORT_OCTAVIA/"
}
