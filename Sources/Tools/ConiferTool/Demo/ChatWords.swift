/// The words of the generated chat.
enum ChatWords {
  static let people = [
    "Ada", "Bela", "Chidi", "Dana", "Emre", "Fatou", "Goran", "Hana", "Ines", "Jonas", "Kaito",
    "Leila", "Mateo", "Nadia", "Olu", "Priya", "Quentin", "Rosa", "Sven", "Thuy", "Uma", "Viktor",
    "Wanda", "Ximena", "Yusuf", "Zofia", "Åsa", "Çelik", "Łukasz", "Ömer",
  ]

  static let topics = [
    "release", "garden", "football", "kitchen", "trains", "music", "weather", "books", "hiking",
    "compiler", "budget", "holiday", "coffee", "school", "cinema", "bicycles",
  ]

  static let openers = [
    "I think", "Did you see that", "By the way,", "Honestly,", "No idea why, but",
    "Just so you know,", "Good morning!", "Could somebody check whether", "Sorry, I missed that:",
    "Yes,", "No,", "Hm,", "As I said yesterday,", "Quick question:",
  ]

  static let subjects = [
    "the build", "my sister", "the new version", "the team", "that old bridge", "our landlord",
    "the train to the coast", "the coffee machine", "the meeting", "the second chapter",
    "the forecast", "the keeper", "the tomato plants", "the test suite", "the neighbour's dog",
    "the projector",
  ]

  static let verbs = [
    "is late again", "looks better than before", "broke in the night", "will be ready on Friday",
    "needs another pair of eyes", "surprised everybody", "costs twice as much now",
    "has moved to the upper floor", "makes a strange noise", "was worth the wait",
    "did not survive the winter", "works on my machine", "starts at half past six",
    "is nowhere to be found",
  ]

  static let closers = [
    "so let us talk about it tomorrow.", "and nobody told me.", "which is fine with me.",
    "what do you think?", "but do not quote me on that.", "as far as I know.", "finally!",
    "and I have the photos to prove it.", "see you there.", "thanks for asking.",
    "that is all I know.", "😀", "…", "I will write more in the evening.",
  ]
}
