package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fairlead.dev/test/lab/kube"
)

// A container is the agent's process as a kubelet would have started it from a
// pod: in a root of its own that it may not write to, as the pod's user, with
// the pod's arguments, environment, volumes and service account.
type container struct {
	url  string // of its pages
	stop func()

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes the agent's log.
func (c *container) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(p)
}

// said returns the agent's log so far.
func (c *container) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

var servingURL = regexp.MustCompile(`"msg":"serving","url":"(http://[^"]+)"`)

// run starts the one container of pod, which the server has admitted. It needs
// root, as a kubelet does.
func run(t *testing.T, k *kube.Server, pod *corev1.Pod) *container {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a container is started by root")
	}
	client := kubernetes.NewForConfigOrDie(k.Config)
	spec := pod.Spec.Containers[0]
	name, tag, _ := strings.Cut(strings.TrimPrefix(spec.Image, registry(t)+"/"), ":")
	if name != repository {
		t.Fatalf("the image is %s", spec.Image)
	}
	img := agentImage(t, tag)
	root := filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command("cp", "--archive", "--link", img.root, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mountAccount(t, k.Config, client, pod, root)
	group := int(*pod.Spec.SecurityContext.RunAsGroup)
	var writable []string
	for _, m := range spec.VolumeMounts {
		if mount(t, client, pod, m, root, group) {
			writable = append(writable, m.MountPath)
		}
	}

	c := &container{}
	args := slices.Clone(img.config.Entrypoint)
	for _, a := range spec.Args {
		// These ports may be taken on the machine of the test.
		a = strings.Replace(a, "listen=:8080", "listen=127.0.0.1:0", 1)
		a = strings.Replace(a, "replica-listen=:9293", "replica-listen=127.0.0.1:0", 1)
		args = append(args, a)
	}
	cmd := inside(root, writable, pod, environment(t, k.Config, pod, img), args)
	cmd.Stderr = c
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	c.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	t.Cleanup(func() {
		c.stop()
		if t.Failed() {
			t.Logf("the agent said:\n%s", c.said())
		}
	})
	eventually(t, "the agent serves its pages", func() bool {
		select {
		case <-ended:
			t.Fatalf("the agent ended: %s", c.said())
		default:
		}
		m := servingURL.FindStringSubmatch(c.said())
		if m != nil {
			c.url = m[1]
		}
		return m != nil
	})
	if err := confined(cmd.Process.Pid, pod); err != nil {
		t.Fatal(err)
	}
	return c
}

// put writes a file below root, whose folders everybody may pass and nobody but
// root write to.
func put(t *testing.T, root, name string, content []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// mountAccount puts what a pod gets of its service account below root.
func mountAccount(t *testing.T, config *rest.Config, client kubernetes.Interface, pod *corev1.Pod, root string) {
	t.Helper()
	const dir = "var/run/secrets/kubernetes.io/serviceaccount/"
	token, err := client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, dir+"token", []byte(token.Status.Token), 0o644)
	put(t, root, dir+"ca.crt", config.CAData, 0o644)
	put(t, root, dir+"namespace", []byte(pod.Namespace), 0o644)
}

// mount puts the volume of m below root, as far as volumes of the chart go, and
// reports whether it is one that the container may write to.
func mount(t *testing.T, client kubernetes.Interface, pod *corev1.Pod, m corev1.VolumeMount, root string, group int) (writable bool) {
	t.Helper()
	for _, v := range pod.Spec.Volumes {
		switch dir := filepath.Join(root, m.MountPath); {
		case v.Name != m.Name:
		case v.EmptyDir != nil:
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			writable = true
		case v.Secret != nil:
			s, err := client.CoreV1().Secrets(pod.Namespace).Get(t.Context(), v.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for key, content := range s.Data {
				path := put(t, root, filepath.Join(m.MountPath, key), content, 0o600)
				if err := os.Chown(path, 0, group); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, os.FileMode(*v.Secret.DefaultMode)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return writable
}

// environment returns the environment of the pod's container.
func environment(t *testing.T, config *rest.Config, pod *corev1.Pod, img *image) []string {
	t.Helper()
	host, port, ok := strings.Cut(strings.TrimPrefix(config.Host, "https://"), ":")
	if !ok {
		t.Fatalf("the server is at %s", config.Host)
	}
	env := append(slices.Clone(img.config.Env), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	for _, e := range pod.Spec.Containers[0].Env {
		value := strings.ReplaceAll(e.Value, "$(KUBERNETES_SERVICE_HOST)", host)
		if f := e.ValueFrom; f != nil {
			switch {
			case f.FieldRef != nil && f.FieldRef.FieldPath == "metadata.name":
				value = pod.Name
			case f.FieldRef != nil && f.FieldRef.FieldPath == "metadata.namespace":
				value = pod.Namespace
			case f.FieldRef != nil && f.FieldRef.FieldPath == "status.podIP":
				value = "127.0.0.1"
			case f.ResourceFieldRef != nil && f.ResourceFieldRef.Resource == "limits.memory":
				value = strconv.FormatInt(pod.Spec.Containers[0].Resources.Limits.Memory().Value(), 10)
			default:
				t.Fatalf("the test does not know how to fill in %s", e.Name)
			}
		}
		env = append(env, e.Name+"="+value)
	}
	return env
}
