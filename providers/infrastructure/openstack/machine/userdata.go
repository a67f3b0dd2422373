package machine

import (
	"encoding/base64"

	"fairlead.dev/providers"
)

// largestUserData is how many bytes of user data Nova takes, in base64.
// Source: Nova, api/openstack/compute/schemas/servers.py.
const largestUserData = 65535

// LimitUserData refuses user data that Nova does not take.
func LimitUserData(u providers.UserData) error {
	_, err := encode(u)
	return err
}

// encode returns user data as Nova takes it.
func encode(u providers.UserData) ([]byte, error) {
	if u.Content.IsZero() {
		return nil, nil
	}
	data, err := u.Fit(base64.StdEncoding.DecodedLen(largestUserData) / 3 * 3)
	if err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(data)), nil
}
