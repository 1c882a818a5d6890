"""The admission policies that stand where others run a webhook server; all of them fail open."""
