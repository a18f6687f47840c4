import ConiferKeyValue

/// What keeps a store from being opened or looked at.
extension Judge {
  var refused: [DoctorFinding] {
    guard let refusal = examination.refusal else { return [] }
    let (plain, remedy) = words(refusal.code)
    return [
      DoctorFinding(
        refusal.code, needsCare: true, values.sentence(refusal.message, orElse: plain), remedy)
    ]
  }

  /// What a code means, without a name of the data, and what helps.
  func words(_ code: String) -> (plain: String, remedy: String) {
    switch code {
    case "no-store":
      (
        "There is no store at this place.",
        "Look for the path in the app's configuration; conifer import, set or the app makes a new store."
      )
    case "foreign":
      (
        "The files are not a store of this kind.",
        "Name the kind that it is, or another directory; nothing there belongs to this store."
      )
    case "newer-format":
      (
        "A newer version of Conifer has written the store.",
        "Update the app and this tool, which is \(ConiferCommand.version)."
      )
    case "wrong-key" where examination.address.keyFile == nil:
      (
        "The store is encrypted, and no key was given.",
        "Name the file with its key: conifer doctor '\(url)' --key-file FILE."
      )
    case "wrong-key":
      (
        "The key does not fit the store, or the store is not encrypted.",
        "Try the key from before or after the last conifer rotate, or leave --key-file out; without its key nothing "
          + "of an encrypted store can be read."
      )
    case "bad-key", "no-input":
      (
        "The file with the key cannot be used.",
        "Name a file that has 32 bytes or 64 hexadecimal digits, and that this user may read: conifer doctor '\(url)' "
          + "--key-file FILE."
      )
    case "denied":
      (
        "The system does not let this process read the store.",
        "Run the command as the user that owns the directory, or give yours access to it and all files in it."
      )
    case "unfinished":
      (
        "The store is not whole: a migration or a salvage into it was cut short.",
        "Run the same conifer migrate again, or open the store in the app: both go on where it was. Until then remove "
          + "nothing beside it: that may be the only copy of what was saved."
      )
    case "not-checked":
      (
        "The store was not checked: a copy of it could not be made or read in the directory for temporary files, or the "
          + "process for that was killed.", checkingAgain
      )
    case "device-locked": ("The device is locked.", "Unlock it, and try again.")
    case "full":
      ("The disk or the quota is full.", "Free space on the volume, and try again.")
    case "unsupported":
      (
        "This build of the tool cannot open the store.",
        "Build conifer with the traits of the app: Zstd for compressed stores, Encryption for encrypted ones."
      )
    case "invalid", "usage":
      (
        "The store cannot be opened as its URL says.",
        "Correct the URL's options, or leave them out: conifer doctor '\(examination.address.plain(directory))'."
      )
    case "io", "poisoned":
      (
        "The system failed to read the store.",
        "Check the volume; copy the files to another one before anything else is tried."
      )
    default:
      (
        "The store could not be opened (\(code)).",
        "Copy the directory before anything else is tried; without --hide-values this command tells the reason."
      )
    }
  }

  /// What helps where nothing could be looked at.
  var checkingAgain: String {
    "Name a directory with twice the store's room, which this user may write to: TMPDIR=/large/place conifer doctor "
      + "'\(url)'\(examination.address.keyFile == nil ? "" : " --key-file FILE")."
  }
}
