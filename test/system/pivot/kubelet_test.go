package pivot_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// kubelet runs the program as the Deployment says, while there is one.
type kubelet struct {
	w      *world
	cancel context.CancelFunc
	done   chan struct{}
	log    output
}

func (k *kubelet) start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel, k.done = cancel, make(chan struct{})
	go func() {
		defer close(k.done)
		for ctx.Err() == nil {
			if d, err := k.deployment(ctx); err == nil {
				k.run(ctx, d)
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
}

func (k *kubelet) stop() {
	if k.cancel == nil {
		return
	}
	k.cancel()
	<-k.done
}

func (k *kubelet) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	return kubernetes.NewForConfigOrDie(k.w.k.Config).AppsV1().Deployments(namespace).Get(ctx, "fairlead", metav1.GetOptions{})
}

// run runs the container until it ends, as a kubelet restarts it then.
func (k *kubelet) run(ctx context.Context, d *appsv1.Deployment) {
	account := d.Spec.Template.Spec.ServiceAccountName
	user := k.w.k.User("system:serviceaccount:"+namespace+":"+account,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
	config := k.w.k.WriteKubeconfig(user)
	var args []string
	for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
		switch {
		case arg == "--secrets=kubernetes": // a mounted token is what only a pod has
			arg += ":" + config
		case strings.HasPrefix(arg, "--listen="):
			arg = "--listen=127.0.0.1:0"
		}
		args = append(args, arg)
	}
	cmd := exec.CommandContext(ctx, k.w.program, args...)
	cmd.Env = append(os.Environ(), "POD_NAMESPACE="+namespace, "POD_NAME=fairlead-0", "POD_IP=127.0.0.1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdout, cmd.Stderr = &k.log, &k.log
	_ = cmd.Run()
}
