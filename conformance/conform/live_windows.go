package main

// signalChecks are none: Windows has no signals that one process sends to another.
func signalChecks(string, string, string) []check { return nil }

func properSignalChecks(string, string, string) []check { return nil }
