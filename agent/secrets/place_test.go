package secrets

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// A folder keeps its name when it is opened again, and shares it with no other.
func TestPlaceOfAFolder(t *testing.T) {
	place := func(dir string) string {
		t.Helper()
		f, err := OpenFile(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := f.Place(t.Context())
		if err != nil || !strings.HasPrefix(p, "folder/") {
			t.Fatalf("place %q, %v", p, err)
		}
		return p
	}
	one, two := t.TempDir(), t.TempDir()
	if p := place(one); p != place(one) || p == place(two) {
		t.Errorf("%s is %s, then %s; %s is %s", one, p, place(one), two, place(two))
	}
	f, err := OpenFile(t.Context(), one, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.root.WriteFile(placeFile, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Place(t.Context()); err == nil {
		t.Errorf("an empty name is taken: %q from %s", p, filepath.Join(one, placeFile))
	}
}

// A namespace that is made anew under its name is another place. To know it
// takes the right to get that one namespace.
func TestPlaceInKubernetes(t *testing.T) {
	s := openReal(t)
	name := s.server.Namespace()
	if p, err := s.Place(t.Context(), name); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("without the right: %q, %v", p, err)
	}
	may := s.as(t, [][2]string{{"get", "namespaces"}})
	ns, err := s.admin.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := may.Place(t.Context(), name); err != nil || p != "kubernetes/"+string(ns.UID)+"/"+name {
		t.Errorf("place %q, %v, want that of UID %s", p, err, ns.UID)
	}
	other, err := s.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "place-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := may.Place(t.Context(), name)
	two, err2 := may.Place(t.Context(), other.Name)
	if err != nil || err2 != nil || one == two {
		t.Errorf("places %q and %q, %v, %v", one, two, err, err2)
	}
}
