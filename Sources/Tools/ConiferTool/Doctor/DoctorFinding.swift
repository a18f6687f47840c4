import ConiferKeyValue

/// Something about a store that is not as it should be, or that is good to know, with what helps.
struct DoctorFinding {
  /// A stable name; that of the error where the store cannot be opened.
  let code: String
  /// Whether somebody has to do something; otherwise it is only good to know.
  let needsCare: Bool
  /// What was found, in sentences.
  let words: String
  /// What helps, with the command where there is one; nil when nothing has to be done.
  let remedy: String?

  init(_ code: String, needsCare: Bool = false, _ words: String, _ remedy: String? = nil) {
    self.code = code
    self.needsCare = needsCare
    self.words = words
    self.remedy = remedy
  }

  var report: Report {
    .object([
      ("code", .string(code)), ("needsCare", .bool(needsCare)), ("words", .string(words)),
      ("remedy", .optional(remedy)),
    ])
  }

  var lines: [String] {
    ["\(needsCare ? "care" : "note"): \(code): \(words)"]
      + (remedy.map { ["  what helps: \($0)"] } ?? [])
  }
}

/// One thing that `doctor` tells of a store, for people and for programs.
struct DoctorFact {
  /// The name, as JSON has it.
  let name: String
  let words: String
  let report: Report

  init(_ name: String, _ words: String, _ report: Report) {
    self.name = name
    self.words = words
    self.report = report
  }
}
