mkdir -p "$D/notes"
put() {
	base64 -d >"$D/notes/$1.new" && mv "$D/notes/$1.new" "$D/notes/$1" && return
	rm -f "$D/notes/$1.new"
	exit 1
}
drop() { rm -f "$D/notes/$1"; }
