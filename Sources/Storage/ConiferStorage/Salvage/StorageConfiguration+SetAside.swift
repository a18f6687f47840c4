package import ConiferKeyValue

extension StorageConfiguration {
  /// Removes the files of damaged stores that ``openOrSalvage()`` has set aside beside this one, for who no longer wants
  /// anything of the data; the empty directories stay, as they keep numbers of writes from being given again.
  ///
  /// - Throws: `denied`, `io`.
  package func emptySetAside() throws(StoreError) {
    guard let root else { return }
    for directory in try StoreExchange.setAside(root) {
      for name in try Directory.names(in: directory) { Directory.remove("\(directory)/\(name)") }
      try Platform.syncDirectory(directory)
      guard Directory.isEmpty(directory) else {
        throw StoreError(
          .denied, "What was set aside in \(directory) cannot be removed. Remove the directory.")
      }
    }
  }
}
