package import ConiferKeyValue

#if Zstd
  internal import CZstd
#endif

/// Trains a dictionary; the same samples give the same one.
package enum ZstdTrainer {
  /// A dictionary of at most so many bytes, or nil when the samples are too few or too alike.
  package static func train(_ samples: [Bytes], _ capacity: Int) -> Bytes? {
    #if Zstd
      guard samples.count >= 8 else { return nil }
      var sizes = samples.map(\.count)
      var joined = Bytes()
      for sample in samples { joined += sample }
      var parameters = ZDICT_fastCover_params_t()
      // Fixed, where zstd would try several: those it tried were within 1 % here, at 3 to 5 times
      // the time.
      parameters.k = 1024
      parameters.d = 8
      parameters.f = 20
      parameters.accel = 1
      parameters.zParams.compressionLevel = 3
      let dictionary = Bytes(unsafeUninitializedCapacity: capacity) { buffer, count in
        let written = joined.withUnsafeBytes { source in
          ZDICT_trainFromBuffer_fastCover(
            buffer.baseAddress, buffer.count, source.baseAddress, &sizes, UInt32(sizes.count),
            parameters)
        }
        count = ZDICT_isError(written) == 0 ? written : 0
      }
      return dictionary.isEmpty ? nil : dictionary
    #else
      return nil
    #endif
  }
}
