/*
 * qt_look.hpp - the look of the Qt example: its style, and its list.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef QT_LOOK_HPP
#define QT_LOOK_HPP

#include <QtWidgets>

/* For Fusion, which looks the same everywhere. */
inline constexpr auto style_sheet = R"(
  QWidget { background: #f6f7f9; color: #1f2328; font-size: 11pt; }
  QLabel { background: transparent; }
  #title { font-size: 20pt; font-weight: 800; }
  #heading { font-size: 15pt; font-weight: 800; }
  #dim { color: #5f6772; }
  #hint { color: #b42318; }
  #list { background: #ffffff; border: 1px solid #dfe3e8;
          border-radius: 12px; }
  QProgressBar { background: #dfe3e8; border: none; border-radius: 3px; }
  QProgressBar::chunk { background: #2563eb; border-radius: 3px; }
  QLineEdit { background: #ffffff; border: 2px solid #b8bfc8;
              border-radius: 8px; padding: 6px 8px; }
  QLineEdit:focus { border-color: #2563eb; }
  QPushButton { background: #e4e8ed; border: 2px solid transparent;
                border-radius: 8px; padding: 7px 18px; font-weight: 600; }
  QPushButton:hover { background: #d6dbe2; }
  QPushButton:focus { border-color: #1f2328; }
  QPushButton:disabled { background: #eceef1; color: #8a929d; }
  QPushButton:default { background: #2563eb; color: #ffffff; }
  QPushButton:default:hover { background: #1d4ed8; }
  QPushButton:default:focus { border-color: #0f2a6b; }
)";

inline QLabel *make_label(const QString &text, const char *name = "") {
  auto *label = new QLabel(text);
  label->setObjectName(name);
  label->setWordWrap(true);
  return label;
}

/* Each interaction, and how far it is. */
class step_list : public QFrame {
public:
  enum look { waiting, shown, good, bad };

  step_list() {
    setObjectName("list");
    rows_ = new QVBoxLayout(this);
    rows_->setContentsMargins(1, 8, 1, 8);
    rows_->setSpacing(0);
  }

  /* The first call for a label adds its row. */
  void set(const QString &label, look look, const QString &text) {
    static constexpr struct {
      const char *mark, *colour, *back;
    } looks[] = {{"○", "#5f6772", "#ffffff"},
                 {"●", "#1d4ed8", "#eaf1fe"},
                 {"✓", "#18794e", "#ffffff"},
                 {"✕", "#b42318", "#ffffff"}};
    if (!shown_.contains(label))
      shown_[label] = add(label);
    const auto &[row, mark, state] = shown_[label];
    const auto colour = QString("color: %1;").arg(looks[look].colour);
    row->setStyleSheet(QString("background: %1;").arg(looks[look].back));
    mark->setText(looks[look].mark);
    mark->setStyleSheet(colour);
    state->setText(text);
    state->setStyleSheet(colour);
  }

private:
  struct row {
    QWidget *all;
    QLabel *mark, *state;
  };

  row add(const QString &label) {
    row made{new QWidget, new QLabel, new QLabel};
    auto *parts = new QHBoxLayout(made.all);
    parts->setContentsMargins(16, 10, 16, 10);
    made.mark->setFixedWidth(22);
    parts->addWidget(made.mark);
    parts->addWidget(new QLabel(label.left(1).toUpper() + label.mid(1)));
    parts->addStretch();
    parts->addWidget(made.state);
    rows_->addWidget(made.all);
    return made;
  }

  QVBoxLayout *rows_;
  QHash<QString, row> shown_;
};

#endif
