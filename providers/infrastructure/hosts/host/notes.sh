mkdir -p "$D/notes"
put() { base64 -d >"$D/notes/$1.new" && mv "$D/notes/$1.new" "$D/notes/$1" || exit 1; }
drop() { rm -f "$D/notes/$1"; }
