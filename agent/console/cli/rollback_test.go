package cli

import "testing"

// TestOneRepository: the origin of a fork is no place to push to for an agent that follows another repository.
func TestOneRepository(t *testing.T) {
	for _, c := range []struct {
		origin, status string
		same           bool
	}{
		{"git@git.example.com:team/fleet.git", "https://git.example.com/Team/fleet", true},
		{"https://git.internal:8443/team/fleet", "ssh://git@git.example.com/team/fleet.git", true},
		{"file:///srv/fleet", "file:///srv/fleet", true},
		{"https://git.example.com/team/fleet/", "git@git.example.com:team/fleet.git", true},
		{"git@git.example.com:team/fleet/", "https://git.example.com/team/fleet.git/", true},
		{"ssh://git@git.example.com:2222/team/fleet.git/", "https://git.example.com/team/fleet", true},
		{"https://ann:token@git.example.com/team/fleet.git", "https://git.example.com/team/fleet", true},
		{"file:///srv/fleet/", "file:///srv/fleet", true},
		{"https://git.example.com/mallory/team/fleet", "https://git.example.com/team/fleet", false},
		{"https://git.example.com/team/fleet%2Ffork", "https://git.example.com/team/fleet", false},
		{"git@git.example.com:mallory/fleet.git", "https://git.example.com/team/fleet", false},
		{"https://git.example.com/team/fleet", "https://git.example.com/team/fleet-status", false},
		{"file:///srv/fork", "file:///srv/fleet", false},
	} {
		if err := oneRepository(c.origin, c.status); (err == nil) != c.same {
			t.Errorf("%s and %s: %v", c.origin, c.status, err)
		}
	}
}
