"""Tests of the controller that asks an autoscaler for nodes."""
