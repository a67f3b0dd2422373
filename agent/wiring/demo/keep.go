package demo

import (
	"context"
	"os"
	"path/filepath"
)

// keep leaves everything running, and says what to try, until ctx ends.
func (d *demo) keep(ctx context.Context) error {
	cluster := d.story.clusters[0]
	kubeconfig, err := d.observer.kubeconfig(ctx, cluster)
	if err != nil {
		return err
	}
	file := filepath.Join(d.dir, cluster.Name+".kubeconfig")
	if err := os.WriteFile(file, kubeconfig.Reveal(), 0o600); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		program = "fairlead"
	}
	s := d.screen
	s.line("")
	s.line("%s", s.bold("It runs on until you press Ctrl-C. Try:"))
	tries := [][2]string{
		{"a page of the fleet, for a browser", d.page},
		{"the nodes of " + cluster.String(), "kubectl --kubeconfig " + file + " get nodes"},
		{"its machines and conditions", program + " tree " + cluster.String() + " --source " + d.repoURL},
		{"what the agent wrote", "git clone --branch " + statusBranch + " " + d.repoURL + " status"},
		{"a push of your own", "git clone " + d.repoURL + " fleet && $EDITOR fleet/" + d.story.values + " && git -C fleet commit -a && git -C fleet push"},
		{"metrics", "curl -s " + d.listen + "/metrics"},
		{"the agent's log", "tail -f " + d.logFile()},
	}
	if d.story.inMemory {
		tries = append(tries, [][2]string{
			{"what a change would do", program + " plan ./fleet --status-repository " + d.repoURL + " --inmemory-url " + d.listen + "/inmemory --secrets " + d.settings.Secrets},
			{"the machines of the cloud", "curl -s -d '{}' " + d.listen + "/inmemory/v1/vms/list"},
			{"break one", `curl -s -d '{"id":"ID FROM ABOVE"}' ` + d.listen + "/inmemory/v1/vms/delete"},
		}...)
	}
	for _, try := range tries {
		s.line("  %s", s.faint("# "+try[0]))
		s.line("  %s", try[1])
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.ended:
		return err
	}
}
