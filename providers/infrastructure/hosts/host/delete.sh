if ! claimed; then
	rm -rf "$M"
	echo gone
	exit 0
fi
: >"$M/releasing" || echo "fairlead: the disk is full" >&2
release
start "release-$id" "$S"
echo asked
