"""The controller of admission checks that ask an autoscaler for nodes by a ProvisioningRequest."""
