exec </dev/null >>"$M/log" 2>&1 9>>"$L"
flock 9
claimed && [ ! -e "$M/started" ] && [ ! -e "$M/releasing" ] || exit 0
echo $$ >"$M/pid"
cat /proc/sys/kernel/random/boot_id >"$M/started"
rm -rf /run/cluster-api
# What hangs ends, with all that it started: timeout makes a group of its own.
timeout --kill-after=60 3600 sh "$M/steps.sh" 9>&- &
echo $! >"$M/child"
wait $!
status=$?
done=/run/cluster-api/bootstrap-success.complete
if [ $status -eq 124 ] || [ $status -eq 137 ]; then
	said="the user data did not come to its end within an hour"
elif grep -q "$done" "$M/user-data"; then
	if [ -e "$done" ]; then said=ok; else said="kubeadm did not come to its end"; fi
elif [ $status -ne 0 ]; then
	said="the user data ended with status $status"
else
	said=ok
fi
printf '%s\n' "$said" >"$M/finished.new" && mv "$M/finished.new" "$M/finished"
