package cloudinit

import (
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/endpoint"
)

// VirtualIP returns the file by which a server, which has what p says, serves the endpoint
// of its cluster; none where something else does, or people bring their own.
func VirtualIP(in providers.BootstrapInput, p endpoint.Place) ([]File, error) {
	if in.VirtualIP == nil || endpoint.Brought(in.Cluster, in.Endpoint) {
		return nil, nil
	}
	p.APIPort = in.Cluster.ControlPlane.ListensAt(in.Join)
	f, err := in.VirtualIP.File(in.Endpoint, p)
	if err != nil {
		return nil, err
	}
	return []File{{Path: Text(f.Path), Owner: "root:root", Permissions: "0600", Content: Text(f.Content)}}, nil
}
