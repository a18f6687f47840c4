#if GRPC
  /// A certificate for `localhost` and 127.0.0.1 that signs itself, for tests alone; from 2020 to 2120.
  enum Certificate {
    static let pem = """
      -----BEGIN CERTIFICATE-----
      MIIBZjCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
      c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
      CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGN59U1VsvwbBGqp
      9Ns3fPKnYhQYx09TyRXGEzJ2eNBBaxxwq8MG42h13llu+RiE07f8GYJgMnNE+aNn
      f4+acOejTjBMMA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0
      hwR/AAABMB0GA1UdDgQWBBSZ8WJfgJGclpEcK7xSM6uj4zHllzAKBggqhkjOPQQD
      AgNHADBEAiBP8v9Vih6KDiVVMiniwWe+g+BxKSLW+J4wyOICjWclpwIgFSXDXfpu
      o0LJzLehCH1AVOx72Efsjwnm4PZMhWMS7GY=
      -----END CERTIFICATE-----
      """

    static let key = """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkrZOxWBGfvw9fsR3
      bcXwtLCxcSqeeFcVytl6trC32wyhRANCAARjefVNVbL8GwRqqfTbN3zyp2IUGMdP
      U8kVxhMydnjQQWsccKvDBuNodd5ZbvkYhNO3/BmCYDJzRPmjZ3+PmnDn
      -----END PRIVATE KEY-----
      """
  }
#endif
