exec </dev/null >>"$M/log" 2>&1 9>>"$L"
flock 9
claimed && [ ! -e "$M/started" ] && [ ! -e "$M/releasing" ] || exit 0
echo $$ >"$M/pid"
cat /proc/sys/kernel/random/boot_id >"$M/started"
rm -rf /run/cluster-api
sh "$M/steps.sh" 9>&-
status=$?
done=/run/cluster-api/bootstrap-success.complete
if grep -q "$done" "$M/user-data"; then
	if [ -e "$done" ]; then said=ok; else said="kubeadm did not come to its end"; fi
elif [ $status -ne 0 ]; then
	said="the user data ended with status $status"
else
	said=ok
fi
printf '%s\n' "$said" >"$M/finished.new" && mv "$M/finished.new" "$M/finished"
