#if Network
  extension TokenTests {
    /// A key of nobody's, made for these tests.
    static let privateKey = """
      -----BEGIN PRIVATE KEY-----
      MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQCPBh4wtsWiRvyZ
      cMflqeFfyzU8WppA6J6ew14RxoUNPtbfvsqIAZBNDS9wlYds9H0cF7K0YIb0dLJW
      zNdIRQlikC5zsQMIB8pWHNugiscuvW2JvDjbnHiFV4yBPDiTAROoyjE2FwQkwwkq
      2L9xGgh07uA7kXWzF4iUCtr2JCOlN8F63HC/7oy9KGSLsK9hQ6NIQG81AikTsaVh
      5AT2ABJmqvOG3l9hYXDrqJiYJ+WCR5YHYVPUwkXZyF0it/Bx1g4/2j6x4NYBt1g/
      02G/K70fnz+gJ8qmnMHpqbYKgfRW8tNbkS/R/wmODKDtGKY/m8lr3m92ac4R8xIz
      nYWYG4K7AgMBAAECggEAOPe+3rhuUAzmYFfDx366/mT6d2e/OUtuot4+geYI6RW2
      kLh2A2ZcC9TMqJNmtcdMbfwieiZYmtZAksJUnbyh2FiFqB9BjdlMhrBH6tJcNAnP
      r6UBILhaaQJOPMu33RX4tqqSn3DbfakR5bcfyfUMmUbsmc1+jC87f3wzawdKC2xp
      e0kp1p3DQH4vuW0pb0t0SESV5YnpLxr0dYrc9JCmC3JASi9hlZXEnZBmSYv005iS
      kVUxc4uKYzKGRx7JuI4GWtLrevDBmBw0mMzYx2WUDkaejgXXqPFcw5riR0DUuvmt
      mcFDpFOln81VIHwJWFPklHfDOnS3VYx5H9KFEnDlQQKBgQDBXTjM/sb0sqmSYWsM
      FUii7o+elrK7d7tB4nul6Lxzzp4nQBvITApk2+pQjL8NC69EIAQItlgDL3YsPt6p
      k375lOOj4I5wcNL41BTY3Bry3b9K7KCwT4T60b2NuPe1kJliseG7S/sWzPf9AVrc
      XQujV9crE9uPtniSoBTVQ6vxLwKBgQC9WmqNZZnilzr0dDUiWdGy4NxgK8Rq7okQ
      uOwSzHvEmssEA8MuS/OLSJMDxO9BcOSs0J1dPBnJEmIaW3GM74Y+PamUA1W50Y+Y
      QIBN2M3VcEtQXsC2PjZl1qaqsMEf+6LeY2aEZSZK536p56Z4K42/ODtxZYmY32c2
      GZQYZDmsNQKBgAPXbEd2UFGQMxo7YTsOOTEzeBr4d3iN+mRmsXosU4Iherbg6Sxj
      hllWnSMYiLsjnknGMQ5TQRBfIwPiA95ulbkzogohbfMB6s8St49PYCGvEhvU86RN
      ECFDhXaJVDKBOurhCdEEw2pCjDK0ki+Kka6fEiFC9bu3LlILaB6Mh5/1AoGBAJZR
      wALuJIMAoZnM4x2ZBmMmJWznce+d3Av9cdPep2bFp+NRBVKskvQAsk0suu9NqwwS
      NMr+Wk4InP7llzhWMlEY7JWHLDfuyDsLAZBLS+RkWDW+cuh6bP7dr8QTu80jHAHG
      EW2LSyHtst04/CusD8Q85Nu5yskkmTAWkD3o2uv9AoGBALL+1iDWC91xJ+7UYbLj
      opiTp1Y5NtQetsvAl6J1n7SJKD9ESCkcqQJeCm05G1+4HrzrcNCtsV6UtRVlsR61
      R19Vv5l4bTxoqDHi9+ApKp1gl4FjjiCyc2HVLwGnppRqr7IZlVEOQSWQN0j3ytHy
      P4RBRRepZ8ZfkBp7NnVLo8l7
      -----END PRIVATE KEY-----
      """
  }
#endif
