# MariaDB on a socket, without network and without durability: the lab's data
# live for a day.

SCHEMAS="keystone glance placement nova neutron cinder octavia"

db() {
  mariadb --no-defaults -S "$RUN/mysql.sock" -uroot "$@"
}

start_database() {
  local i
  start mariadb mariadbd --no-defaults --user=root --datadir="$DB" --socket="$RUN/mysql.sock" \
    --pid-file="$LAB_STATE/tmp/mysqld" --tmpdir="$LAB_STATE/tmp" --skip-networking --skip-grant-tables --skip-log-bin \
    --performance-schema=OFF --max-connections=400 \
    --innodb-buffer-pool-size=192M --innodb-log-file-size=32M \
    --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=0 \
    --character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci
  for ((i = 0; i < 300; i++)); do
    ! db -e 'select 1' >/dev/null 2>&1 || return 0
    alive mariadb || break
    sleep 0.1
  done
  tail -20 "$LOG/mariadb.log" >&2
  die "the database does not answer"
}

# db_url NAME: how the services reach the database NAME.
db_url() {
  echo "mysql+pymysql://root@localhost/$1?unix_socket=$RUN/mysql.sock&charset=utf8"
}


# manage PROGRAM MODULE CONFIG ARGUMENT...: run a service's management command,
# whose launchers are in packages that are not installed.
manage() {
  local program=$1 module=$2 config=$3
  shift 3
  env PYTHONPATH="$DRIVERS" PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore HOME="$LIB" LC_ALL=C.UTF-8 \
    /usr/bin/python3 -c "import sys; sys.argv[0]='$program'; from $module import main; sys.exit(main())" \
    --config-file "$ETC/$config.conf" "$@"
}

keystone_schema() {
  local url="http://127.0.0.1:$PORT_KEYSTONE/v3"
  keystone_manage() { manage keystone-manage keystone.cmd.manage keystone "$@"; }
  keystone_manage db_sync
  keystone_manage fernet_setup --keystone-user root --keystone-group root
  keystone_manage credential_setup --keystone-user root --keystone-group root
  keystone_manage bootstrap --bootstrap-username admin --bootstrap-password admin-pw \
    --bootstrap-project-name admin --bootstrap-region-id RegionOne \
    --bootstrap-public-url "$url" --bootstrap-admin-url "$url" --bootstrap-internal-url "$url"
}
glance_schema() { manage glance-manage glance.cmd.manage glance db_sync; }
placement_schema() { manage placement-manage placement.cmd.manage placement db sync; }
nova_schema() {
  nova_manage() { manage nova-manage nova.cmd.manage nova "$@"; }
  nova_manage api_db sync
  nova_manage cell_v2 map_cell0 --database_connection "$(db_url nova_cell0)"
  nova_manage db sync
  nova_manage cell_v2 create_cell --name cell1 --database_connection "$(db_url nova)" --transport-url fake://
}
neutron_schema() { manage neutron-db-manage neutron.db.migration.cli neutron upgrade heads; }
cinder_schema() { manage cinder-manage cinder.cmd.manage cinder db sync; }
octavia_schema() { manage octavia-db-manage octavia.db.migration.cli octavia upgrade head; }

# create_database makes an empty database and starts it.
create_database() {
  local name
  rm -rf "$DB" "$LIB"
  mkdir -p "$DB"
  make_directories
  mariadb-install-db --no-defaults --user=root --datadir="$DB" --skip-test-db \
    --auth-root-authentication-method=normal >"$LOG/mariadb-install.log" 2>&1 ||
    die "cannot create the database; log: $LOG/mariadb-install.log"
  start_database
  for name in $SCHEMAS nova_api nova_cell0; do
    echo "CREATE DATABASE $name CHARACTER SET utf8mb3;"
  done | db
}

# create_schemas fills the database with each service's tables, side by side.
create_schemas() {
  local service pid pids=()
  declare -A of
  for service in $SCHEMAS; do
    (set -e; "${service}_schema" >"$LOG/schema-$service.log" 2>&1) &
    pids+=($!)
    of[$!]=$service
  done
  for pid in "${pids[@]}"; do
    wait "$pid" || {
      tail -20 "$LOG/schema-${of[$pid]}.log" >&2
      die "cannot create the tables of ${of[$pid]}; all of the log: $LOG/schema-${of[$pid]}.log"
    }
  done
}

# take_snapshot keeps the seeded state for resets.
take_snapshot() {
  stop mariadb
  rm -rf "$SNAPSHOT"
  mkdir "$SNAPSHOT"
  cp -a "$DB" "$SNAPSHOT/db"
  cp -a "$LIB" "$SNAPSHOT/lib"
  touch "$SNAPSHOT/.done"
  start_database
}

restore_snapshot() {
  rm -rf "$DB" "$LIB"
  cp -a "$SNAPSHOT/db" "$DB"
  cp -a "$SNAPSHOT/lib" "$LIB"
}
